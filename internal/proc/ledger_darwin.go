package proc

import "golang.org/x/sys/unix"

// zombie is the state of a process that waits to be reaped, SZOMB.
const zombie = 5

// thisPlace returns where we run. Boot is empty if that can't be told.
func thisPlace() place {
	boot, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return place{}
	}
	return place{Boot: boot}
}

// look returns what is known of a process, which may be waiting to be reaped.
func look(pid int) (facts, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return facts{}, false
	}
	return describe(info), true
}

// members returns all processes of a group, and whether that could be found out.
func members(group int) ([]facts, bool) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return nil, false
	}
	var all []facts
	for i := range infos {
		all = append(all, describe(&infos[i]))
	}
	return all, true
}

func describe(info *unix.KinfoProc) facts {
	pid := int(info.Proc.P_pid)
	session, err := unix.Getsid(pid)
	if err != nil {
		session = -1 // nobody's
	}
	started := info.Proc.P_starttime
	return facts{
		birth: birth{Pid: pid, Start: uint64(started.Sec)*1e6 + uint64(started.Usec)}, // microseconds
		group: int(info.Eproc.Pgid), session: session, ended: info.Proc.P_stat == zombie,
	}
}
