package wrapper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/envs/activation"
)

// interactive returns the command line of an interactive shell. For bash it is
// started with a file of our own in place of ~/.bashrc: that reads what bash
// would have read, then puts the environment in front again (a ~/.bashrc often
// sets PATH, or activates conda's base) and its name before the prompt.
//
// The file returned must stay open until the shell runs; it may be nil.
func interactive(prefix string, env []string) ([]string, *os.File, error) {
	shell := getenv(env, "SHELL")
	if !filepath.IsAbs(shell) || runnable(shell) != nil {
		shell = "/bin/bash"
	}
	if runnable(shell) != nil {
		shell = "/bin/sh"
	}
	if filepath.Base(shell) != "bash" {
		return []string{shell, "-i"}, nil, nil
	}
	rc, err := bashRC(prefix, env)
	if err != nil {
		return nil, nil, err
	}
	// A memory file: nothing to remove, and nothing for others to change. The
	// shell inherits it.
	fd, err := unix.MemfdCreate("hpcenv-bashrc", 0)
	if err != nil {
		return nil, nil, fmt.Errorf("shell: memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "bashrc")
	if _, err := f.WriteString(rc); err != nil {
		return nil, nil, fmt.Errorf("shell: memory file: %w", err)
	}
	return []string{shell, "--rcfile", fmt.Sprintf("/proc/self/fd/%d", fd), "-i"}, f, nil
}

func bashRC(prefix string, env []string) (string, error) {
	var p activation.Patch
	for _, name := range []string{"CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_SHLVL", "PYTHONNOUSERSITE", activation.MarkerName, activation.UndoName, activation.OverlayName} {
		if v := getenv(env, name); v != "" {
			p.Ops = append(p.Ops, activation.Op{Kind: activation.OpSet, Name: name, Value: v})
		}
	}
	bin := prefix + "/bin"
	if overlay := getenv(env, activation.OverlayName); overlay != "" {
		bin = overlay + "/bin:" + bin
	}
	p.Ops = append(p.Ops, activation.Op{Kind: activation.OpSet, Name: "__hpcenv_bin", Value: bin},
		activation.Op{Kind: activation.OpSet, Name: "__hpcenv_prompt", Value: prompt(env)})
	vars, err := activation.Render("bash", p)
	if err != nil {
		return "", err
	}
	return `[ -r /etc/bash.bashrc ] && . /etc/bash.bashrc
[ -r ~/.bashrc ] && . ~/.bashrc
` + vars + `PATH=:$PATH:
PATH=${PATH//":$__hpcenv_bin:"/:}
PATH=$__hpcenv_bin${PATH%:}
export PATH
PS1=$__hpcenv_prompt$PS1
unset __hpcenv_bin __hpcenv_prompt
hash -r
`, nil
}

// prompt is pixi's "(name) ", of characters that a prompt does not expand.
func prompt(env []string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(getenv(env, "PIXI_PROMPT"), "("), ") ")
	if name == "" {
		name = getenv(env, "CONDA_DEFAULT_ENV")
	}
	return "(" + strings.Map(func(r rune) rune {
		if strings.ContainsRune("$`\\!%\"'", r) || r < ' ' {
			return '?'
		}
		return r
	}, name) + ") "
}
