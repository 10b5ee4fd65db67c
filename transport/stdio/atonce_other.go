//go:build !unix

package stdio

import "os"

// atOnce returns nil: here a write to a pipe may wait.
func atOnce(*os.File) func(p []byte) int { return nil }
