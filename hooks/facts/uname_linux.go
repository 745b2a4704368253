package facts

import "golang.org/x/sys/unix"

// uname is the machine as this host's kernel says; "" if it does not.
func uname() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Machine[:])
}
