package proc

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// Inherit tells what a process gets of our own environment.
type Inherit uint8

// The modes.
const (
	InheritAll     Inherit = iota // everything
	InheritMinimal                // what Minimal lists
)

// Minimal returns the names of the minimal environment. A name that ends in "*" stands for all that begin with it.
// Proxies and credentials are not in it: they can be passed by name.
func Minimal() []string { return slices.Clone(minimal) }

// An environment maps the names of variables, in the form that envKey gives, to "NAME=value".
type environment map[string]string

// environ composes the environment of spec: inherited, then configured.
func environ(spec Spec) environment {
	inherited := os.Environ()
	env := make(environment, len(inherited)+len(spec.Env))
	for _, entry := range inherited {
		// Windows has entries such as "=C:=C:\dir", which belong to the name after the first byte.
		i := strings.IndexByte(entry[min(1, len(entry)):], '=') + 1
		if i < 1 {
			continue
		}
		if name := entry[:i]; spec.Inherit == InheritAll || listed(minimal, name) || listed(spec.Pass, name) {
			env[envKey(name)] = entry
		}
	}
	for name, value := range spec.Env {
		env[envKey(name)] = name + "=" + value
	}
	return env
}

func listed(names []string, name string) bool {
	name = envKey(name)
	return slices.ContainsFunc(names, func(listed string) bool {
		prefix, open := strings.CutSuffix(envKey(listed), "*")
		return name == prefix || open && strings.HasPrefix(name, prefix)
	})
}

// get returns the value of a variable, "" if it is not set.
func (env environment) get(name string) string {
	_, value, _ := strings.Cut(env[envKey(name)], "=")
	return value
}

// list returns the environment in a stable order.
func (env environment) list() []string { return slices.Sorted(maps.Values(env)) }
