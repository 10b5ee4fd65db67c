package proc

import "os"

// Launch starts a program that is the user's and not ours, such as a browser: it goes on when we end, no signal of our
// terminal reaches it, and its standard files lead nowhere. Of spec the command, its arguments, the environment and the
// directory count. ended gets how it ended, once; a goroutine waits for that as long as the program runs, so that no
// dead process is left. The error is a *StartError.
func Launch(spec Spec) (ended <-chan State, err error) {
	env := environ(spec)
	path, fault := resolve(spec, env)
	if fault != nil {
		return nil, fault
	}
	failed := func(err error) (<-chan State, error) {
		return nil, &StartError{Command: spec.Command, Path: path, Reason: Failed, Err: err}
	}
	nowhere, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return failed(err)
	}
	defer nowhere.Close()
	attr, err := detached(path)
	if err != nil {
		return failed(err)
	}
	leader, err := os.StartProcess(path, append([]string{spec.Command}, spec.Args...), &os.ProcAttr{
		Dir: spec.Dir, Env: env, Files: []*os.File{nowhere, nowhere, nowhere}, Sys: attr,
	})
	if err != nil {
		return nil, explain(spec, path, err)
	}
	told := make(chan State, 1)
	go func() {
		state, err := leader.Wait()
		if err != nil {
			told <- State{Code: -1}
			return
		}
		told <- endOf(state)
	}()
	return told, nil
}
