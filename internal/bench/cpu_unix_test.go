//go:build unix

package bench_test

import (
	"syscall"
	"time"
)

// ownCPU returns the time that this process has computed.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
