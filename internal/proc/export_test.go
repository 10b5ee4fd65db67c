package proc

import "time"

// BatchCommandLine is tested everywhere, though it is used on Windows only.
var BatchCommandLine = batchCommandLine

// SetKillWait changes how long killed processes may take to disappear, and returns what changes it back.
func SetKillWait(d time.Duration) (restore func()) {
	before := killWait
	killWait = d
	return func() { killWait = before }
}
