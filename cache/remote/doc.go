// Package remote turns what a lock names into requests that can be sent: mirrors,
// credentials, and the schemes http, https, s3, oci and file.
//
// Enters: a URL and the digest of what lies there; an Access (mirrors,
// credentials, buckets), read from a user's or a daemon's configuration. Leaves:
// Targets, each of which can authorize a request of its own and take its
// credential out of any text. Nothing is sent from here: transfers, retries and
// the host policy are package cache's, the same for every scheme. Of minio-go only
// the signatures and of oras-go only the token exchange are used, therefore: an
// archive's digest names the blob, and its bytes are resumed and verified as any.
package remote
