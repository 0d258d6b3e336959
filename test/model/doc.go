// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model is an executable model of the ledger's protocol (docs/design/ledger.md): one API server, two or three
// managers, claims of four names and a space of two addresses, of which some claims want both. It contains no code of
// Weir's. What it shows is that the protocol as designed holds, and that each precondition is needed for that; whether the
// code follows the protocol is for other tests to show.
//
// A manager is a set of small machines, which take one step at a time: one task for each name of a claim, repair, the webhook
// of the own kinds, the watch, the caches. One step is one request to the server or one look at the index. A walk lets
// randomly chosen machines step and others sleep, while clients create and delete claims, processes crash and lose their
// memory, replies get lost, watches are listed anew, finalizers are stripped, and, in every other walk, people write to
// records or delete them. After each step no two claims that live may have been told overlapping addresses, ever, by an
// answer of their UID or by their status, and none two addresses. After each walk everybody works on undisturbed: then every
// claim must be answered, or have been told that nothing is free while that is so, every waiter be told something, and
// nothing be left of claims that are gone.
//
// Rules are the preconditions. Without one of them the same walks find the same address twice, or a claim that is stuck.
// Three are reached too seldom by random steps alone and begin with a scenario: JudgeExactVersion, AgeIsCertain and
// TakeoverGuards. One, LeaveMarkedAlone, turned out not to be needed.
//
// "Exhausted" is checked at rest only: a claim that is told so too early and answered later is no finding here.
//
// The clock of the own kinds, --repair-grace, is modelled as what it stands for: repair leaves the record of a request alone
// until the API server has ended that request.
//
// Not modelled: blocks of pools, carved pools and changes of pools; addresses that are asked for; adoption of answers that
// arrive without a record; cooldown and retention; pause and foreign finalizers; time that runs backwards; and everything
// that is economy only, such as marks within a process, names of first attempts, take-over delays, lanes of the webhook.
// Where the protocol leaves a choice (which free address, which of a claim's half-made records), the model chooses at random.
package model
