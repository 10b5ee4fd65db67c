package proctest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// GroupGone reports whether no process of the group runs. Those that have ended and wait to be reaped by the system's
// first process do not count.
func GroupGone(id int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		line, _ := os.ReadFile(stat) // fails if the process has gone meanwhile
		fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
		if len(fields) > 2 && fields[2] == strconv.Itoa(id) && fields[0] != "Z" && fields[0] != "X" {
			return false
		}
	}
	return true
}
