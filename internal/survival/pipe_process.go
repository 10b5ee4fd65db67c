package survival

import (
	"os"
	"strconv"
)

// kill ends this process in a way that it can't see coming.
func kill() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// lingering marks a process that a server has started and that outlives it.
const lingering = "MCPWIRE_SURVIVAL_LINGERS"

// fork starts this server once more, with the same standard files, and tells its id.
func fork(p *Pipe) {
	child, err := os.StartProcess(os.Args[0], os.Args, &os.ProcAttr{
		Env:   append(os.Environ(), lingering+"=1"),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		p.Note("error")
		return
	}
	p.Note("child " + strconv.Itoa(child.Pid))
}
