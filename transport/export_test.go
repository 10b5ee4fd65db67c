package transport

// Timers returns what stops the timers that no call has, and tells whether any of them ran.
func (s *Clocks) Timers() (stop func() (ran bool)) {
	free := s.free
	return func() (ran bool) {
		for _, k := range free {
			ran = k.timer.Stop() || ran
		}
		return ran
	}
}

// Alarm returns what the clock of a call does when it comes, however late.
func (c *Call) Alarm() (come func()) { return c.tick }
