package recorder_test

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"mcpwire/internal/leaks"
)

// echoVariable makes the test binary say back what it hears, on both outputs, and exit with its value.
const echoVariable = "RECORDER_TEST_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(echoVariable) != "" {
		_, _ = io.Copy(io.MultiWriter(os.Stdout, os.Stderr), os.Stdin)
		os.Exit(7)
	}
	before := leaks.Note()
	code := m.Run()
	if left := before.Left(5 * time.Second); code == 0 && len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		code = 1
	}
	os.Exit(code)
}
