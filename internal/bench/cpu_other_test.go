//go:build !unix

package bench_test

import "time"

// ownCPU is not known here.
func ownCPU() time.Duration { return 0 }
