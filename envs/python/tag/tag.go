package tag

// Tag is one triple of a Python, an ABI and a platform, in lower case.
type Tag struct{ Python, ABI, Platform string }

// String joins the parts as file names do: "cp312-abi3-manylinux_2_28_x86_64".
func (t Tag) String() string { return t.Python + "-" + t.ABI + "-" + t.Platform }
