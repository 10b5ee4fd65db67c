package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// thisPlace returns where we run. Boot is empty if that can't be told.
func thisPlace() place {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return place{}
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return place{}
	}
	return place{Boot: strings.TrimSpace(string(boot)), Space: space}
}

// look returns what is known of a process, which may be waiting to be reaped.
func look(pid int) (facts, bool) { return readStat("/proc/" + strconv.Itoa(pid) + "/stat") }

// members returns all processes of a group, and whether that could be found out.
func members(group int) ([]facts, bool) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return nil, false
	}
	var all []facts
	for _, file := range files {
		if f, ok := readStat(file); ok && f.group == group { // not ok if the process has gone meanwhile
			all = append(all, f)
		}
	}
	return all, true
}

// Fields of a stat file, counted from the one behind the name.
const (
	statState   = 0
	statGroup   = 2
	statSession = 3
	statStart   = 19 // in clock ticks since the boot
)

// readStat reads a line "pid (name) state parent group ...", where the name may hold anything.
func readStat(file string) (facts, bool) {
	line, err := os.ReadFile(file)
	if err != nil {
		return facts{}, false
	}
	id, _, _ := bytes.Cut(line, []byte(" "))
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) <= statStart {
		return facts{}, false
	}
	var f facts
	var errs [4]error
	f.Pid, errs[0] = strconv.Atoi(string(id))
	f.group, errs[1] = strconv.Atoi(string(fields[statGroup]))
	f.session, errs[2] = strconv.Atoi(string(fields[statSession]))
	f.Start, errs[3] = strconv.ParseUint(string(fields[statStart]), 10, 64)
	state := fields[statState][0]
	f.ended = state == 'Z' || state == 'X'
	return f, errs == [4]error{}
}
