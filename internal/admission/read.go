// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import "k8s.io/apimachinery/pkg/util/json"

// read decodes an object of Weir's kinds, and says whether it could. A status that nobody can read does not matter: the API server asks
// mutating webhooks first, drops the status of what is created or updated after that, and only then looks at the schema. What cannot be
// read otherwise the schema refuses.
func read(raw []byte, into any) bool {
	if len(raw) == 0 || json.Unmarshal(raw, into) == nil {
		return len(raw) > 0
	}
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return false
	}
	delete(fields, "status")
	plain, err := json.Marshal(fields)
	return err == nil && json.Unmarshal(plain, into) == nil
}
