package elf

import (
	"debug/elf"
	"fmt"
)

// machineName is what Linux calls a machine.
func machineName(m elf.Machine, class int, big bool) string {
	pick := func(bigName, littleName string) string {
		if big {
			return bigName
		}
		return littleName
	}
	switch {
	case m == elf.EM_X86_64 && class == 32:
		return "x32"
	case m == elf.EM_X86_64:
		return "x86_64"
	case m == elf.EM_386:
		return "i686"
	case m == elf.EM_AARCH64:
		return pick("aarch64_be", "aarch64")
	case m == elf.EM_ARM:
		return pick("armeb", "arm")
	case m == elf.EM_PPC64:
		return pick("ppc64", "ppc64le")
	case m == elf.EM_PPC:
		return "ppc"
	case m == elf.EM_S390 && class == 64:
		return "s390x"
	case m == elf.EM_S390:
		return "s390"
	case m == elf.EM_RISCV:
		return fmt.Sprintf("riscv%d", class)
	case m == elf.EM_LOONGARCH:
		return fmt.Sprintf("loongarch%d", class)
	case m == elf.EM_CUDA:
		return "cuda"
	}
	return fmt.Sprintf("machine-%d", uint16(m))
}
