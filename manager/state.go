package manager

import (
	"fmt"
	"slices"
	"strings"
)

// A State is where a server stands.
type State uint8

// The states. The zero value is Disabled.
const (
	Disabled   State = iota // its configuration switches it off
	Connecting              // an attempt to reach it is under way
	Ready                   // it is connected and its tools have been asked for
	Waiting                 // it could not be reached, or was lost, and will be tried again by itself
	NeedsLogin              // it wants a login; it is tried again when somebody asks
	Failed                  // it is not tried again until somebody asks or its configuration changes
)

var stateNames = [...]string{"disabled", "connecting", "ready", "waiting", "needs login", "failed"}

// String returns the state in lower case: "disabled", "connecting", "ready", "waiting", "needs login" or "failed".
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// An event is what moves a server from one state to another.
type event uint8

const (
	enabled  event = iota // the configuration switches it on
	disabled              // the configuration switches it off
	ready                 // connected, and the tools have been asked for
	putOff                // the attempt failed, or the line was lost, and there will be another attempt
	refused               // it wants a login
	gaveUp                // there will be no other attempt
	due                   // the time of the next attempt has come
	restart               // somebody asks for a new connection, or the configuration has changed
)

var eventNames = [...]string{"enabled", "disabled", "ready", "put off", "refused", "gave up", "due", "restart"}

func (e event) String() string { return eventNames[e] }

// transitions is the whole life of a server. What is not in it does not happen.
var transitions = map[State]map[event]State{
	Disabled: {enabled: Connecting},
	Connecting: {
		disabled: Disabled, ready: Ready, putOff: Waiting, refused: NeedsLogin, gaveUp: Failed, restart: Connecting,
	},
	Ready:      {disabled: Disabled, putOff: Waiting, refused: NeedsLogin, gaveUp: Failed, restart: Connecting},
	Waiting:    {disabled: Disabled, due: Connecting, gaveUp: Failed, restart: Connecting},
	NeedsLogin: {disabled: Disabled, restart: Connecting},
	Failed:     {disabled: Disabled, restart: Connecting},
}

// next returns the state that follows, and false where the event has no meaning in a state.
func next(s State, e event) (State, bool) {
	to, ok := transitions[s][e]
	return to, ok
}

// diagram draws transitions as a Mermaid state diagram.
func diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	id := func(s State) string { return strings.ReplaceAll(s.String(), " ", "_") }
	b.WriteString("    [*] --> connecting\n    [*] --> disabled\n")
	for from := Disabled; from <= Failed; from++ {
		by := map[State][]string{}
		for e := enabled; e <= restart; e++ {
			if to, ok := next(from, e); ok {
				by[to] = append(by[to], e.String())
			}
		}
		for to := Disabled; to <= Failed; to++ {
			if names := by[to]; names != nil {
				slices.Sort(names)
				fmt.Fprintf(&b, "    %s --> %s: %s\n", id(from), id(to), strings.Join(names, ", "))
			}
		}
	}
	return b.String()
}
