// Package transporttest holds the tests that every carrier passes, the fake servers behind them, a carrier in memory
// for the tests of what stands on package transport, and a check that nothing is left behind.
package transporttest
