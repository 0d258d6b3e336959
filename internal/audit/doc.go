// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit writes the audit trail: a line of the log for each prefix that is handed out, given back or refused. It reads
// these lines as well, and no others.
//
// Tools read it. Messages, keys and reasons are documented in docs/reference/audit.md, and change only together with that page.
package audit
