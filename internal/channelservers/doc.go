// Package channelservers starts real servers that a channel can be fetched from,
// each a process of its own that checks what it is shown: S3 with signatures, OCI
// with tokens. For tests only.
//
// Enters: the channel's files. Leaves: addresses and the credentials that open
// them. It shares no code with what fetches.
package channelservers
