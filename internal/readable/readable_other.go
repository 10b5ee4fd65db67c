//go:build !linux

package readable

type poller struct{}

func watch(int, func()) *Watch { return nil }

func (*Watch) arm() bool { return false }

func (*Watch) end() bool { return false }
