// Package daemon is the per-cluster service: the API and its client (api), the
// work behind it (service), and the HTTP server (server).
package daemon
