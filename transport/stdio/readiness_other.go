//go:build !unix

package stdio

import (
	"os"

	"mcpwire/internal/readable"
)

// A readiness would wait until there is something to read; here nothing can.
type readiness struct{}

func newReadiness(*os.File) *readiness { return nil }

func (*readiness) await() {}

func (*readiness) watch(func()) *readable.Watch { return nil }
