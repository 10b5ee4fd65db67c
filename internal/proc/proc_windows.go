package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// minimal is what Windows programs need to find their files, and to start at all.
var minimal = []string{
	"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES*", "COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH",
	"LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA",
	"PROGRAMFILES*", "PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN", "USERNAME",
	"USERPROFILE", "WINDIR",
}

func envKey(name string) string { return strings.ToUpper(name) }

func isPath(command string) bool { return strings.ContainsAny(command, `/\:`) }

// runnable returns path, or path with the first extension of PATHEXT for which there is a file.
func runnable(path string, env environment) (string, error) {
	extensions := strings.Split(env.get("PATHEXT"), ";")
	if env.get("PATHEXT") == "" {
		extensions = []string{".COM", ".EXE", ".BAT", ".CMD"}
	}
	for _, extension := range extensions {
		if extension == "" {
			continue
		}
		if strings.EqualFold(filepath.Ext(path), extension) && isFile(path) {
			return path, nil
		}
		if isFile(path + extension) {
			return path + extension, nil
		}
	}
	if exists(path) {
		return "", errNotExecutable
	}
	return "", fs.ErrNotExist
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func isBadFormat(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

// A group is a job object: what its processes start belongs to it too, and closing it kills them all.
type group struct {
	job    windows.Handle
	leader *os.Process
	state  State
}

// spawn starts the file at path in a new job, a batch file through the command interpreter. The process is put into the
// job right behind its start: what it would start itself within that moment would not belong to the job.
func spawn(path string, spec Spec, env []string, files []*os.File) (*group, int, error) {
	attr := &os.ProcAttr{Dir: spec.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{
		HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP,
	}}
	argv := append([]string{spec.Command}, spec.Args...)
	if isBatch(path) {
		line, shell, err := throughShell(path, spec.Args)
		if err != nil {
			return nil, 0, err
		}
		path, attr.Sys.CmdLine = shell, line
	}
	g, err := newGroup()
	if err != nil {
		return nil, 0, err
	}
	proc, err := os.StartProcess(path, argv, attr)
	if err != nil {
		g.close()
		return nil, 0, err
	}
	if err := g.add(proc); err != nil {
		_ = proc.Kill()
		_, _ = proc.Wait()
		g.close()
		return nil, 0, err
	}
	g.leader = proc
	return g, proc.Pid, nil
}

// errNeedsShell is why a batch file is not launched.
var errNeedsShell = errors.New("it is a batch file, which only a shell can run")

// detached returns the attributes of a process that has no console.
func detached(path string) (*syscall.SysProcAttr, error) {
	if isBatch(path) {
		return nil, errNeedsShell
	}
	return &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS,
	}, nil
}

func endOf(state *os.ProcessState) State { return State{Code: state.ExitCode()} }

func isBatch(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".bat" || ext == ".cmd"
}

func throughShell(script string, args []string) (line, shell string, err error) {
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return "", "", err
	}
	shell = filepath.Join(system, "cmd.exe")
	line, err = batchCommandLine(shell, script, args)
	return line, shell, err
}

func newGroup() (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	return &group{job: job}, nil
}

func (g *group) add(proc *os.Process) (err error) {
	handleErr := proc.WithHandle(func(handle uintptr) {
		err = windows.AssignProcessToJobObject(g.job, windows.Handle(handle))
	})
	return errors.Join(handleErr, err)
}

// term reports that there is no polite request.
func (g *group) term() bool { return false }

func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

func (g *group) close() { _ = windows.CloseHandle(g.job) }

func (g *group) awaitEnd() {
	g.state = State{Code: -1}
	if state, err := g.leader.Wait(); err == nil {
		g.state.Code = state.ExitCode()
	}
}

func (g *group) reap() State { return g.state }

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	_               [4]int64 // times
	_               uint32   // page faults
	_               uint32   // processes ever
	ActiveProcesses uint32
	_               uint32 // processes terminated
}

// empty reports whether no process of the job runs.
func (g *group) empty() bool {
	var info jobAccounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err != nil || info.ActiveProcesses == 0
}
