package lockfile

import "strings"

// subdirs are the conda subdirs there are, with the arch and platform that a
// record of them has.
var subdirs = map[string][2]string{
	"noarch":             {"", ""},
	"linux-32":           {"x86", "linux"},
	"linux-64":           {"x86_64", "linux"},
	"linux-aarch64":      {"aarch64", "linux"},
	"linux-armv6l":       {"armv6l", "linux"},
	"linux-armv7l":       {"armv7l", "linux"},
	"linux-loongarch64":  {"loongarch64", "linux"},
	"linux-ppc":          {"ppc", "linux"},
	"linux-ppc64":        {"ppc64", "linux"},
	"linux-ppc64le":      {"ppc64le", "linux"},
	"linux-riscv32":      {"riscv32", "linux"},
	"linux-riscv64":      {"riscv64", "linux"},
	"linux-s390x":        {"s390x", "linux"},
	"freebsd-32":         {"x86", "freebsd"},
	"freebsd-64":         {"x86_64", "freebsd"},
	"freebsd-arm64":      {"arm64", "freebsd"},
	"osx-64":             {"x86_64", "osx"},
	"osx-arm64":          {"arm64", "osx"},
	"ios-arm64":          {"arm64", "ios"},
	"iossimulator-64":    {"x86_64", "iossimulator"},
	"iossimulator-arm64": {"arm64", "iossimulator"},
	"android-32":         {"x86", "android"},
	"android-64":         {"x86_64", "android"},
	"android-aarch64":    {"aarch64", "android"},
	"android-armv7a":     {"armv7a", "android"},
	"win-32":             {"x86", "win"},
	"win-64":             {"x86_64", "win"},
	"win-arm64":          {"arm64", "win"},
	"emscripten-wasm32":  {"wasm32", "emscripten"},
	"emscripten-wasm64":  {"wasm64", "emscripten"},
	"wasi-wasm32":        {"wasm32", "wasi"},
	"zos-z":              {"z", "zos"},
}

// KnownSubdir tells whether a text is a conda subdir.
func KnownSubdir(subdir string) bool {
	_, known := subdirs[subdir]
	return known
}

// LinuxSubdir tells whether a text is the conda subdir of a Linux platform.
func LinuxSubdir(subdir string) bool {
	return KnownSubdir(subdir) && strings.HasPrefix(subdir, "linux-")
}
