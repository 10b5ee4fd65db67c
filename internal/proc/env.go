package proc

import (
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

// An environment holds variables as "NAME=value", sorted, one for each name in the form that envKey gives.
type environment []string

// environ composes the environment of spec: inherited, then configured.
func environ(spec Spec) environment {
	env := environment(slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name := nameOf(entry)
		return name == "" || spec.Inherit != InheritAll && !listed(minimal, name) && !listed(spec.Pass, name)
	}))
	for name, value := range spec.Env {
		env = append(env, name+"="+value)
	}
	// The last one of a name counts.
	slices.SortStableFunc(env, func(a, b string) int { return strings.Compare(envKey(nameOf(a)), envKey(nameOf(b))) })
	kept := env[:0]
	for i, entry := range env {
		if i == len(env)-1 || envKey(nameOf(entry)) != envKey(nameOf(env[i+1])) {
			kept = append(kept, entry)
		}
	}
	slices.Sort(kept)
	return kept
}

// nameOf returns the name of an entry of an environment; empty if it has none. Windows has entries such as
// "=C:=C:\dir", which belong to the name after the first byte.
func nameOf(entry string) string {
	i := strings.IndexByte(entry[min(1, len(entry)):], '=') + 1
	return entry[:i]
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
	for _, entry := range env {
		if found := nameOf(entry); found != "" && envKey(found) == envKey(name) {
			return entry[len(found)+1:]
		}
	}
	return ""
}
