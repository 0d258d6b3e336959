// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhookserver serves the webhooks over TLS, and bounds who may call them and what each caller costs.
//
// Invariants:
//   - With a client CA, nothing of a request is read before the client has shown a certificate of that CA: the TLS handshake fails.
//   - One connection carries one request at a time (HTTP/1.1 only). So the number of connections bounds the number of requests.
//   - A client that makes the server wait gives way to a new one. So nobody keeps the API server out by holding connections.
//   - What connections and bodies take of the memory is bounded, whoever sends them.
//
// It does not look into requests.
package webhookserver
