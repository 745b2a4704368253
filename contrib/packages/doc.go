// Package packages is how deb and rpm packages are made (`make packages`).
//
// Enters: what `make build` built, install.sh's list of files. Leaves: packages, in
// build/packages: pages.sh makes manual pages and completions, pack.sh the packages, with
// scripts/ run when they are installed and removed. story.sh goes through the
// administrator's guide with them.
package packages
