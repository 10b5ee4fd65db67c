//go:build !linux

package proctest

// hasChildren reports false: there is no way to ask without reaping.
func hasChildren() bool { return false }

// GroupGone reports true: it can be told on Linux only.
func GroupGone(int) bool { return true }
