// Package debian gets Debian packages for more than one architecture through
// this machine's own apt configuration, without changing the system.
//
// Enters: names of packages. Leaves: their closure over the dependencies, and
// the files in each. A private apt state below a cache folder holds the indexes
// of all architectures; sources, keys, proxies and credentials stay the
// machine's own (/etc/apt).
package debian
