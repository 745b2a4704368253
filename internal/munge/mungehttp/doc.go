// Package mungehttp is HTTP between hosts of one MUNGE realm: every request says who
// sends it, and every answer that it is of the account that was meant.
//
// A request's credential covers its method, path and body, the instance of the daemon
// that it is for, and a key that only the daemon's account can read, since the credential
// is encrypted and restricted to that account. The answer comes in frames, each with an
// HMAC by that key: so a stream is authenticated as it comes, its end too, and an answer
// costs no process. Any user can bind the port of a daemon that is down; who cannot read
// the key cannot answer.
//
// A credential counts once: munged refuses a second use while it runs, the Gate while the
// daemon runs, and a daemon that was started anew has another instance.
//
// Enters: http.Requests. Leaves: on the daemon's side (Gate) who sent it, on the client's
// (Transport) http.Responses whose bytes are the daemon's.
package mungehttp
