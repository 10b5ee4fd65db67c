package auth_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// role is the variable that makes the test binary play one of the roles instead of running tests.
const role = "MCPWIRE_AUTH_ROLE"

// roles are what the test binary can be when it is started again. Each file of tests adds its own in init.
var roles = map[string]func(){}

func TestMain(m *testing.M) {
	name := os.Getenv(role)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	play, ok := roles[name]
	if !ok {
		panic("no role " + name)
	}
	play()
}
