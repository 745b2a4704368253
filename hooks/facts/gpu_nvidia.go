package facts

import (
	"context"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/cuda"
)

// nvidiaFiles reads what NVIDIA's kernel driver shows below /proc. It tells
// neither CUDA's version nor compute capabilities; tables do (cuda.go).
type nvidiaFiles struct{}

// GPUs implements GPUProbe.
func (nvidiaFiles) GPUs(_ context.Context, root string) (*GPU, []string) {
	const dir = "/proc/driver/nvidia"
	t := newTree(root)
	if !t.exists(dir) {
		return nil, nil
	}
	var problems []string
	gpu := &GPU{Vendor: "nvidia"}
	version, err := t.text(dir + "/version")
	if err != nil {
		gpu.Problem = err.Error()
	} else if gpu.Driver = nvidiaVersion(version); gpu.Driver == "" {
		gpu.Problem = dir + "/version names no version"
	}
	gpu.CUDA = CUDAOf(gpu.Driver)

	ids, err := t.list(dir + "/gpus")
	if err != nil {
		return nil, []string{err.Error()}
	}
	var names []string
	for _, id := range ids {
		file := dir + "/gpus/" + id + "/information"
		text, err := t.text(file)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		model, minor := nvidiaInformation(text)
		if model == "" || minor == "" {
			problems = append(problems, file+" names no model or no device (is the GPU lost?)")
			continue
		}
		if p := t.deviceProblem("/dev/nvidia" + minor); p != "" && !makesNodes(t) {
			problems = append(problems, fmt.Sprintf("GPU %s: %s", id, p))
			continue
		}
		names = append(names, model)
	}
	if len(names) == 0 {
		if len(problems) == 0 {
			problems = []string{"NVIDIA's driver " + gpu.Driver + " is loaded, but serves no GPU"}
		}
		if gpu.Problem != "" {
			problems = append(problems, gpu.Problem)
		}
		return nil, problems
	}
	gpu.Models = CountModels(names)
	gpu.Compute = lowestCompute(gpu.Models)
	return gpu, problems
}

// makesNodes: the driver's own helper makes device nodes when a program first
// asks for them, as on hosts where nothing used a GPU since boot.
func makesNodes(t tree) bool {
	return !t.exists("/dev/nvidiactl") && t.exists("/usr/bin/nvidia-modprobe")
}

// nvidiaVersion finds the driver's version, e.g. 535.104.05, in
// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug …".
func nvidiaVersion(text string) string {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "NVRM version:")
		if !ok {
			continue
		}
		for w := range strings.FieldsSeq(rest) {
			if isDriverVersion(w) {
				return w
			}
		}
	}
	return ""
}

// isDriverVersion tells whether a word is a version of NVIDIA's driver.
func isDriverVersion(w string) bool {
	_, ok := cuda.ParseDriver(w)
	return ok
}

// nvidiaInformation reads the model and the number of the device node.
func nvidiaInformation(text string) (model, minor string) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "Model":
			if value != "Unknown" {
				model = value
			}
		case "Device Minor":
			if value != "" && len(value) <= 4 && strings.Trim(value, "0123456789") == "" {
				minor = value
			}
		}
	}
	return model, minor
}
