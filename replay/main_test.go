package replay_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"mcpwire/internal/leaks"
)

func TestMain(m *testing.M) {
	before := leaks.Note()
	code := m.Run()
	if left := before.Left(5 * time.Second); code == 0 && len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		code = 1
	}
	os.Exit(code)
}
