package config

import (
	"fmt"
	"strings"
)

// unknownKey is the warning for a key that is not known, with the one that may have been meant.
func unknownKey(key string, known []string) string {
	text := fmt.Sprintf("unknown key %q is ignored", key)
	for _, k := range known {
		if strings.EqualFold(k, key) {
			return text + fmt.Sprintf("; write %q", k)
		}
	}
	allowed := 2
	if len(key) <= 4 {
		allowed = 1
	}
	near, least := "", allowed+1
	for _, k := range known {
		if d := distance(strings.ToLower(key), strings.ToLower(k)); d < least {
			near, least = k, d
		}
	}
	if near == "" {
		return text
	}
	return text + fmt.Sprintf("; did you mean %q?", near)
}

// authNames are the known keys of a block for logging in, with what they are called in Places.
func authNames() map[string]string {
	names := map[string]string{}
	for key := range authFields {
		names[key] = key
	}
	names["scope"] = "scopes"
	return names
}

// distance is how many bytes must be inserted, deleted or replaced to get from one key to the other. Keys that are too
// long to be near one that is known are as far away as they are long.
func distance(from, to string) int {
	if len(from) > len(to)+2 {
		return len(from)
	}
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			replaced := diagonal
			if from[i] != to[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(to)]
}
