package auth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/auth"
	"mcpwire/transport/transporttest"
)

// folderVariable tells the roles of this file where the records are.
const folderVariable = "MCPWIRE_AUTH_FOLDER"

func init() {
	roles["hold a lock"] = holdLock
	roles["count under a lock"] = countUnderLock
}

// holdLock takes the lock, says so, and holds it until its input ends.
func holdLock() {
	unlock, err := auth.OpenStore(os.Getenv(folderVariable), auth.StoreOptions{}).Lock(context.Background(), key, auth.RecordLock)
	fmt.Fprintln(os.Stdout, "held", err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	unlock()
}

const rounds = 10

// countUnderLock reads the number in a record and saves the next, some times.
func countUnderLock() {
	s := auth.OpenStore(os.Getenv(folderVariable), auth.StoreOptions{})
	for range rounds {
		unlock, err := s.Lock(context.Background(), key, auth.RecordLock)
		if err != nil {
			fmt.Fprintln(os.Stdout, err)
			return
		}
		r, err := s.Load(context.Background(), key)
		n, _ := strconv.Atoi(r.Server)
		r.Server = strconv.Itoa(n + 1)
		if err := errors.Join(err, s.Save(context.Background(), key, r)); err != nil {
			fmt.Fprintln(os.Stdout, err)
		}
		unlock()
	}
}

// again prepares the test binary to be started in a role.
func again(t *testing.T, name, folder string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), role+"="+name, folderVariable+"="+folder)
	cmd.Stderr = os.Stderr
	return cmd
}

// holder starts a process that holds the lock. Closing its input has it let go.
func holder(t *testing.T, folder string) (cmd *exec.Cmd, in io.Closer) {
	t.Helper()
	cmd = again(t, "hold a lock", folder)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held <nil>\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	return cmd, in
}

func TestALockOfAnotherProcessIsHeldUntilItLetsGoOrDies(t *testing.T) {
	for name, end := range map[string]func(cmd *exec.Cmd, in io.Closer) error{
		"it lets go":   func(_ *exec.Cmd, in io.Closer) error { return in.Close() },
		"it is killed": func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			folder := t.TempDir()
			cmd, in := holder(t, folder)
			s := auth.OpenStore(folder, auth.StoreOptions{})
			cause := errors.New("the reason")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, cause)
			defer cancel()
			if _, err := s.Lock(ctx, key, auth.RecordLock); !errors.Is(err, cause) {
				t.Errorf("while it is held: %v", err)
			}
			unlock, err := s.Lock(t.Context(), key, auth.LoginLock)
			if err != nil {
				t.Fatal(err)
			}
			unlock()

			waited := make(chan error)
			go func() {
				unlock, err := s.Lock(t.Context(), key, auth.RecordLock)
				if err == nil {
					unlock()
				}
				waited <- err
			}()
			if err := end(cmd, in); err != nil {
				t.Error(err)
			}
			start := time.Now()
			if err := <-waited; err != nil || time.Since(start) > time.Second {
				t.Errorf("after %s: %v", time.Since(start), err)
			}
		})
	}
}

func TestTwoStoresOfOneProcessExcludeEachOther(t *testing.T) {
	transporttest.CheckLeaks(t)
	folder := t.TempDir()
	unlock, err := auth.OpenStore(folder, auth.StoreOptions{}).Lock(t.Context(), key, auth.RecordLock)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = auth.OpenStore(folder, auth.StoreOptions{}).Lock(ctx, key, auth.RecordLock)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestProcessesThatLockLoseNothing(t *testing.T) {
	transporttest.CheckLeaks(t)
	folder := t.TempDir()
	const processes = 5
	var all sync.WaitGroup
	for range processes {
		cmd := again(t, "count under a lock", folder)
		all.Go(func() {
			if out, err := cmd.Output(); err != nil || len(out) > 0 {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
	all.Wait()
	r := load(t, auth.OpenStore(folder, auth.StoreOptions{}), key)
	if r.Server != strconv.Itoa(processes*rounds) {
		t.Errorf("counted %s", r.Server)
	}
}

func TestAFolderThatCanNotBeMadeIsAnError(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := auth.OpenStore(file, auth.StoreOptions{})
	_, err := s.Lock(t.Context(), key, auth.RecordLock)
	for _, err := range []error{err, s.Save(t.Context(), key, record("one")), s.Delete(t.Context(), key)} {
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("got %v", err)
		}
	}
}
