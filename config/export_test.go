package config

// Parse reads a text without a file.
var Parse = parse

// Added returns the text that AddServer would write.
func Added(text []byte, s Server, replace bool) ([]byte, error) {
	return edited("f", text, adding(s, replace))
}

// Removed returns the text that RemoveServer would write.
func Removed(text []byte, name string) ([]byte, error) { return edited("f", text, removing(name)) }

// WithDisabled returns the text that SetDisabled would write.
func WithDisabled(text []byte, name string, disabled bool) ([]byte, error) {
	return edited("f", text, disabling(name, disabled))
}

// ParseHost reads a text as one of another program's files, as it would be on Linux with the user's folder /home/me, in
// the project /home/me/src/app: the project's file if inProject says so.
func ParseHost(name string, text []byte, inProject bool) (*File, error) {
	from := where{machine: machine{goos: "linux", home: "/home/me"}, folder: "/home/me/files", dirs: []string{"/home/me/src/app"}}
	if inProject {
		from.project = from.dirs[0]
	}
	return hostNamed(name).parse("f", text, from)
}

// HostFiles returns where the user's files of a host are on a system.
func HostFiles(name, goos, home string, env map[string]string) []string {
	return machine{goos, home, func(name string) string { return env[name] }}.files(hostNamed(name))
}

// ProjectFiles returns the files of a host in a project.
func ProjectFiles(name string) []string { return hostNamed(name).project }
