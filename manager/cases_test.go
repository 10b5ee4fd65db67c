package manager_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/internal/proc/proctest"
	"mcpwire/manager"
)

// enough is how long a real process may take for what takes no time on a machine that is not busy.
const enough = 30 * time.Second

// shell is an entry that runs a script of sh.
func shell(t *testing.T, name, text string) config.Server {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("there is no sh")
		}
		t.Fatal(err)
	}
	return config.Server{Name: name, Command: "sh", Args: []string{"-c", text}}
}

func TestNothingIsLeftOfAServerBehindAWrapper(t *testing.T) {
	for _, row := range []struct {
		name   string
		silent bool
	}{{"closed", false}, {"not connected in time", true}} {
		t.Run(row.name, func(t *testing.T) {
			leader := filepath.Join(t.TempDir(), "leader")
			server := script{Silent: row.silent, Stubborn: true}.entry(t, "a")
			wrapper := shell(t, "a", `echo $$ >'`+leader+`.new'; mv '`+leader+`.new' '`+leader+`'; `+
				`exec 3<&0; '`+server.Command+`' <&3 & wait`)
			wrapper.Env = server.Env
			limit := enough
			if row.silent {
				limit = time.Second
			}
			wrapper.ConnectTimeout = &limit
			m := manage(t, []config.Server{wrapper}, mcpwire.ManageOptions{})
			if row.silent {
				state(t, m, "a", manager.Waiting, enough)
			} else {
				state(t, m, "a", manager.Ready, enough)
				begin := time.Now()
				if err := m.Close(context.Background()); err != nil || time.Since(begin) > 6*time.Second {
					t.Errorf("closed after %v: %v", time.Since(begin), err)
				}
			}
			text, err := os.ReadFile(leader)
			if err != nil {
				t.Fatal(err)
			}
			group, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil || !proctest.Within(5*time.Second, func() bool { return proctest.GroupGone(group) }) {
				t.Errorf("processes of the group %d are left (error %v)", group, err)
			}
		})
	}
}

func TestWhyAServerExitedIsTold(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{
			"with a status",
			`echo "Error: DEMO_KEY is not set" >&2; sleep 0.05; exit 2`,
			[]string{"exit status 2", "Error: DEMO_KEY is not set"},
		},
		{"by a signal", `kill -9 $$`, []string{"killed by SIGKILL"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := manage(t, []config.Server{shell(t, "a", row.text)}, mcpwire.ManageOptions{})
			s := state(t, m, "a", manager.Waiting, 5*time.Second) // at once, not after the connect timeout of a minute
			for _, want := range row.want {
				if s.Err == nil || !strings.Contains(s.Err.Error(), want) {
					t.Errorf("%q is not told: %v", want, s.Err)
				}
			}
		})
	}
}

func TestWhatCantBeStartedIsToldOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no bits for execution")
	}
	folder := t.TempDir()
	for name, mode := range map[string]os.FileMode{"plain": 0o600, "script": 0o700} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("echo hello\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	rows := map[string]struct {
		server config.Server
		want   string
	}{
		"absent":   {config.Server{Command: "no-such-cmd"}, "not found in PATH"},
		"plain":    {config.Server{Command: filepath.Join(folder, "plain")}, "is not an executable file"},
		"nowhere":  {config.Server{Command: "sh", Cwd: filepath.Join(folder, "no")}, "working directory"},
		"headless": {config.Server{Command: filepath.Join(folder, "script")}, "#! line"},
	}
	var servers []config.Server
	for name, row := range rows {
		row.server.Name = name
		servers = append(servers, row.server)
	}
	m := manage(t, servers, mcpwire.ManageOptions{})
	for name, row := range rows {
		s := state(t, m, name, manager.Failed, 5*time.Second)
		if s.Starts != 1 || s.Err == nil || !strings.Contains(s.Err.Error(), row.want) {
			t.Errorf("%s: %d starts: %v", name, s.Starts, s.Err)
		}
	}
}

func TestAProcessThatExitsAgainAndAgainIsGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("the waits take eight seconds")
	}
	folder := t.TempDir()
	ledger, dies := filepath.Join(folder, "ledger"), filepath.Join(folder, "dies")
	if err := os.WriteFile(dies, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := manage(t, []config.Server{script{DiesIf: dies, Ledger: ledger}.entry(t, "a")}, mcpwire.ManageOptions{})
	s := state(t, m, "a", manager.Failed, 2*enough)
	err := m.Settle(t.Context(), "a")
	if n := len(pids(t, ledger)); n != 5 || s.Starts != 5 || err == nil || !strings.Contains(err.Error(), "given up after 5 starts") {
		t.Errorf("%d processes, %d starts: %v", n, s.Starts, err)
	}
	if err := os.Remove(dies); err != nil {
		t.Fatal(err)
	}
	if err := m.Reconnect("a"); err != nil {
		t.Fatal(err)
	}
	if err := m.Settle(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	gone(t, closedWith(t, m, ledger))
}

// closedWith closes the manager, and returns the ledger.
func closedWith(t *testing.T, m *manager.Manager, ledger string) string {
	t.Helper()
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	return ledger
}

func TestAStormOfTheSameConfigurationStartsOneProcess(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	server := script{Ledger: ledger}.entry(t, "a")
	m := manage(t, []config.Server{server}, mcpwire.ManageOptions{})
	state(t, m, "a", manager.Ready, enough)
	server.Args = []string{"changed"}
	for range 50 {
		m.Apply([]config.Server{server})
	}
	if err := m.Settle(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if n := len(pids(t, ledger)); n != 2 {
		t.Errorf("%d processes were started, want one more than the first", n)
	}
	gone(t, closedWith(t, m, ledger))
}

func TestServersThatWantToStayAreEndedTogether(t *testing.T) {
	folder := t.TempDir()
	var servers []config.Server
	var ledgers []string
	for i := range 10 {
		ledger := filepath.Join(folder, strconv.Itoa(i))
		ledgers = append(ledgers, ledger)
		servers = append(servers, script{Stubborn: true, Ledger: ledger}.entry(t, "s"+strconv.Itoa(i)))
	}
	m := manage(t, servers, mcpwire.ManageOptions{})
	for _, s := range servers {
		state(t, m, s.Name, manager.Ready, enough)
	}
	begin := time.Now()
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took < 4*time.Second || took > 6*time.Second {
		t.Errorf("closing took %v", took)
	}
	for _, ledger := range ledgers {
		gone(t, ledger)
	}
}

func TestAVariableThatIsNotSetCostsItsServerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"mcpServers": {
		"remote": {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer ${DEMO_UNSET}"}},
		"local": {"command": "demo", "args": ["ok", "${DEMO_UNSET}"]}
	}}`)
	file, err := config.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := manage(t, append(file.Servers, script{}.entry(t, "good")), mcpwire.ManageOptions{})
	for name, place := range map[string]string{"remote": ":2:", "local": ":3:"} {
		s := state(t, m, name, manager.Failed, enough)
		field := map[string]string{"remote": "headers.Authorization", "local": "args[1]"}[name]
		for _, want := range []string{path + place, name, field, "DEMO_UNSET"} {
			if s.Starts != 1 || !strings.Contains(s.Err.Error(), want) {
				t.Errorf("%s: %d starts, %q is not told: %v", name, s.Starts, want, s.Err)
			}
		}
	}
	state(t, m, "good", manager.Ready, enough)
}
