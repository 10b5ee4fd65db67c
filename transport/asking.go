package transport

import "context"

// callKey is the key of a call in the context of its exchange.
type callKey struct{}

// WithCall returns a context for the exchange of a call that somebody waits for, so that what stands between a carrier
// and the network can have a person log in, and stop the call's clock meanwhile. What runs in the background has none.
func WithCall(ctx context.Context, call *Call) context.Context {
	call.lend() // a context may outlive the exchange
	return context.WithValue(ctx, callKey{}, call)
}

// unattendedKey is the key of a mark in the context of what nobody waits for.
type unattendedKey struct{}

// Unattended returns a context for calls that nobody waits for, such as those of a manager that connects again by
// itself: CallOf finds none in it, nor in what comes of it.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattendedKey{}, true)
}

// CallOf returns the call that WithCall put into the context; nil if there is none, or nobody waits for it.
func CallOf(ctx context.Context) *Call {
	if ctx.Value(unattendedKey{}) != nil {
		return nil
	}
	call, _ := ctx.Value(callKey{}).(*Call)
	return call
}

// exchangeKey is the key of an exchange's number.
type exchangeKey struct{}

// WithExchange returns a context for an exchange that somebody records, with the number that it has there.
func WithExchange(ctx context.Context, number int) context.Context {
	return context.WithValue(ctx, exchangeKey{}, number)
}

// ExchangeOf returns the number that WithExchange put into the context; 0 if there is none.
func ExchangeOf(ctx context.Context) int {
	number, _ := ctx.Value(exchangeKey{}).(int)
	return number
}
