package redact

import (
	"slices"
	"strings"
	"sync"
)

// marks are what a text has, in any case, in which Tokens masks something: a text without them need not be looked at by
// expressions, which take some hundred times longer.
var marks = slices.Concat(secretMembers, []string{
	"bearer", "basic", "eyj", "sk-", "xox", "glpat-", "npm_", "hf_", "github_pat_", "ya29.", "aiza", "akia",
	"\u017f", "\u212a", // which are an s and a k in another case
}, keysOfGitHub())

// secretMembers are parts of the names of members whose values are secret, in lower case.
var secretMembers = []string{
	"token", "secret", "passw", "passphrase", "apikey", "api_key", "api-key", "privatekey", "private_key", "private-key",
	"authorization", "credential", "assertion", "verifier", "cookie",
}

func keysOfGitHub() (kinds []string) {
	for c := 'a'; c <= 'z'; c++ {
		kinds = append(kinds, "gh"+string(c)+"_")
	}
	return kinds
}

// secretMember reports whether the value of a member of this name is masked in a message. A progress token is a number
// of ours that no two requests share, and the answer to nothing.
func secretMember(name string) bool {
	name = strings.ToLower(name)
	return name != "progresstoken" &&
		slices.ContainsFunc(secretMembers, func(word string) bool { return strings.Contains(name, word) })
}

// suspicious reports whether a text may have something that Tokens masks.
func suspicious[T string | []byte](text T) bool {
	m := marked()
	state := uint16(0)
	for i := range len(text) {
		if state = m.next[state][text[i]]; m.found[state] {
			return true
		}
	}
	return false
}

// A matcher finds any of a number of words, in one pass (Aho and Corasick).
type matcher struct {
	next  [][256]uint16
	found []bool
}

var marked = sync.OnceValue(func() *matcher { return newMatcher(marks) })

func newMatcher(words []string) *matcher {
	m := &matcher{}
	m.add()
	for _, word := range words {
		at := uint16(0)
		for _, c := range []byte(word) {
			if m.next[at][c] == 0 {
				m.next[at][c] = m.add()
			}
			at = m.next[at][c]
		}
		m.found[at] = true
	}
	m.complete()
	for state := range m.next {
		for c := 'a'; c <= 'z'; c++ {
			m.next[state][c-'a'+'A'] = m.next[state][c]
		}
	}
	return m
}

func (m *matcher) add() uint16 {
	m.next, m.found = append(m.next, [256]uint16{}), append(m.found, false)
	return uint16(len(m.next) - 1) //nolint:gosec // the words have some hundred letters
}

// complete has each state go on, where no word does, as the longest word does whose beginning was read last.
func (m *matcher) complete() {
	fallback := make([]uint16, len(m.next))
	var queue []uint16
	for _, to := range m.next[0] {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		back := fallback[state]
		m.found[state] = m.found[state] || m.found[back]
		for c, to := range m.next[state] {
			if to == 0 {
				m.next[state][c] = m.next[back][c]
				continue
			}
			fallback[to] = m.next[back][c]
			queue = append(queue, to)
		}
	}
}
