package standalonetest

import (
	"strings"
)

// Small is a Python of a few files: its program is a script that says which Python
// it is. build tells two of one version apart. site-packages has pip 1.0.
func Small(version, build string) []File {
	minor := strings.Join(strings.SplitN(version, ".", 3)[:2], ".")
	lib := "lib/python" + minor
	return []File{
		{Path: "bin/python" + minor, Exec: true, Content: "#!/bin/sh\necho standalone python " + version + " build " + build + "\n"},
		{Path: "bin/python3", Link: "python" + minor},
		{Path: "bin/python", Link: "python" + minor},
		{Path: "bin/pip", Exec: true, Content: "#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")/python" + minor + "\" \"$0\" \"$@\"\n' '''\nprint('pip 1.0')\n"},
		{Path: "bin/old-script", Exec: true, Content: "#!/install/bin/python" + minor + "\nprint('/install')\n"},
		{Path: "include/python" + minor + "/patchlevel.h", Content: "#define PY_MAJOR_VERSION\t3\n#define PY_VERSION      \t\"" + version + "\"\n"},
		{Path: "lib/libpython" + minor + ".so", Content: "no library " + build + "\n"},
		{Path: "lib/pkgconfig/python-" + minor + ".pc", Content: "# See: man pkg-config\nprefix=/install\nexec_prefix=${prefix}\nlibdir=${exec_prefix}/lib\n"},
		{Path: "lib/pkgconfig/python3.pc", Link: "python-" + minor + ".pc"},
		{Path: lib + "/os.py", Content: "name = 'posix'\n"},
		{Path: lib + "/lib-dynload/", Content: ""},
		{Path: lib + "/empty.py"},
		{Path: lib + "/_sysconfigdata__linux_x86_64-linux-gnu.py", Content: Sysconfigdata},
		{Path: lib + "/site-packages/README.txt", Content: "packages go here\n"},
		{Path: lib + "/site-packages/pip/__init__.py", Content: "__version__ = '1.0'\n"},
		{Path: lib + "/site-packages/pip/_vendor/one.py", Content: "one = 1\n"},
		{Path: lib + "/site-packages/pip-1.0.dist-info/METADATA", Content: "Metadata-Version: 2.1\nName: pip\nVersion: 1.0\n"},
		{Path: lib + "/site-packages/pip-1.0.dist-info/INSTALLER", Content: "pip\n"},
		{Path: lib + "/site-packages/pip-1.0.dist-info/RECORD", Content: "../../../bin/pip,,\npip/__init__.py,,\npip/_vendor/one.py,,\npip-1.0.dist-info/METADATA,,\npip-1.0.dist-info/INSTALLER,,\npip-1.0.dist-info/RECORD,,\n"},
	}
}

// Sysconfigdata is a module of build variables of the form that the real ones have.
const Sysconfigdata = `# system configuration generated and used by the sysconfig module
build_time_vars = {'ABIFLAGS': '',
 'AC_APPLE_UNIVERSAL_BUILD': 0,
 'AR': '/tools/llvm/bin/llvm-ar',
 'BINDIR': '/install/bin',
 'BLDSHARED': 'clang -pthread -shared',
 'CC': 'clang -pthread',
 'CONFIG_ARGS': "'--prefix=/install' '--build=x86_64-unknown-linux-gnu'",
 'CXX': 'clang++ -pthread',
 'INSTALL': '/usr/bin/install -c',
 'LDFLAGS': '-L/install/lib '
            '/install/lib/libpython.a '
            '/installed',
 'LIBDIR': '/install/lib',
 'QUOTED': 'it\'s "/install" \\',
 'SIZEOF_LONG': 8,
 'prefix': '/install'}
`
