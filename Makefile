# Copyright 2026 The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

SHELL := /usr/bin/env bash
.SHELLFLAGS := -o errexit -o nounset -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := bin
OUT := out

# The release that manifests, images and binaries are made for.
VERSION ?= v0.1.0
REGISTRY ?= ghcr.io/weir-ipam
IMAGE_NAME ?= cluster-api-ipam-provider-weir
IMAGE ?= $(REGISTRY)/$(IMAGE_NAME)
IMG ?= $(IMAGE):$(VERSION)
ARCHS ?= amd64 arm64

# How much the suites do: gate (the default, what a change has to pass), long (an hour) or soak (hours).
export WEIR_SUITE_SIZE ?= gate
# Keep the demo's control plane running at its end.
export KEEP ?=
# Have the demo start a real Keystone and Neutron, and hand out floating IPs.
export OPENSTACK ?=
# Have the demo show a hub and two member clusters.
export FEDERATION ?=
FUZZTIME ?= 10s
GOTESTFLAGS ?=
RACE ?= -race
# Without the folder's name in it, what was compiled in one checkout need not be compiled again in another.
export GOFLAGS ?= -trimpath

LDFLAGS := -s -w -X main.version=$(VERSION)
# The commit that a release is built from, and its time in seconds since 1970. In a copy without git both have to be set.
REVISION ?= $(shell git rev-parse HEAD)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)

comma := ,
space := $() $()

##@ General

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make <target> [VARIABLE=value]\n"} \
		/^[a-zA-Z0-9_-]+:.*##/ {printf "  %-22s%s\n", $$1, $$2} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)}' $(firstword $(MAKEFILE_LIST))

##@ Tools and control plane, built once from the pinned modules in hack/tools into bin/

CONTROLLER_GEN := $(BIN)/controller-gen
CRD_REF_DOCS := $(BIN)/crd-ref-docs
GOLANGCI_LINT := $(BIN)/golangci-lint
KUSTOMIZE := $(BIN)/kustomize
CLUSTERCTL := $(BIN)/clusterctl
JQ := $(BIN)/jq
KUBECTL := $(BIN)/kubectl
ETCD := $(BIN)/etcd

# $(call tool-version,tool,module) is the module's version in that tool's go.mod.
tool-version = $(shell awk '$$1 == "$(2)" {print $$2} $$2 == "$(2)" {print $$3}' hack/tools/$(1)/go.mod | head -n 1)
# $(call semver-part,version,index) is one number of a version such as v1.36.3.
semver-part = $(word $(2),$(subst ., ,$(patsubst v%,%,$(1))))
# Which step of what the demo and the end-to-end tests need a program is, and how long it is built on two cores with empty caches.
STEP_etcd := (1 of 8, cold about 2 minutes)
STEP_kube-apiserver := (2 of 8, cold about 7 minutes)
STEP_kube-controller-manager := (3 of 8, cold about 2 minutes)
STEP_kubectl := (4 of 8, cold about 1 minute)
STEP_clusterctl := (5 of 8, cold about 1 minute)
STEP_kustomize := (6 of 8, cold less than a minute)
STEP_jq := (7 of 8, cold less than a minute)
STEP_manager := (8 of 8, cold about 1 minute)
# $(call build,command) builds $@, and says so and how long it took: nobody shall wait for minutes and not know what for.
build = @echo "building $(notdir $@) $(STEP_$(notdir $@)) ..."; $(1); echo "built $(notdir $@) in $$SECONDS s"
# $(call build-tool,folder,package[,ldflags]) builds $@ from hack/tools/<folder>.
build-tool = $(call build,go -C hack/tools/$(1) build -trimpath -ldflags "$(strip -s -w $(3))" -o $(abspath $@) $(2))

KUBE_VERSION = $(call tool-version,kubernetes,k8s.io/kubernetes)
CLUSTERCTL_VERSION = $(call tool-version,clusterctl,sigs.k8s.io/cluster-api)
# Without a version clusterctl and other clients refuse the API server.
KUBE_LDFLAGS = -X k8s.io/component-base/version.gitVersion=$(KUBE_VERSION) \
	-X k8s.io/component-base/version.gitMajor=$(call semver-part,$(KUBE_VERSION),1) \
	-X k8s.io/component-base/version.gitMinor=$(call semver-part,$(KUBE_VERSION),2) \
	-X k8s.io/client-go/pkg/version.gitVersion=$(KUBE_VERSION)
CLUSTERCTL_LDFLAGS = -X sigs.k8s.io/cluster-api/version.gitVersion=$(CLUSTERCTL_VERSION) \
	-X sigs.k8s.io/cluster-api/version.gitMajor=$(call semver-part,$(CLUSTERCTL_VERSION),1) \
	-X sigs.k8s.io/cluster-api/version.gitMinor=$(call semver-part,$(CLUSTERCTL_VERSION),2)

$(CONTROLLER_GEN): hack/tools/controller-gen/go.mod
	$(call build-tool,controller-gen,sigs.k8s.io/controller-tools/cmd/controller-gen)

$(CRD_REF_DOCS): hack/tools/crd-ref-docs/go.mod
	$(call build-tool,crd-ref-docs,github.com/elastic/crd-ref-docs)

$(GOLANGCI_LINT): hack/tools/golangci-lint/go.mod
	$(call build-tool,golangci-lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

$(KUSTOMIZE): hack/tools/kustomize/go.mod
	$(call build-tool,kustomize,sigs.k8s.io/kustomize/kustomize/v5)

$(CLUSTERCTL): hack/tools/clusterctl/go.mod
	$(call build-tool,clusterctl,sigs.k8s.io/cluster-api/cmd/clusterctl,$(CLUSTERCTL_LDFLAGS))

# Cluster API's core manager, for test/e2e/rollout: from the size long on, the only one that it runs at.
CORE_MANAGER := $(BIN)/core-manager
$(CORE_MANAGER): hack/tools/clusterctl/go.mod
	$(call build-tool,clusterctl,sigs.k8s.io/cluster-api/core,$(CLUSTERCTL_LDFLAGS))

# Commands of the guides use jq; this is gojq, which understands the same.
$(JQ): hack/tools/gojq/go.mod
	$(call build-tool,gojq,github.com/itchyny/gojq/cmd/gojq)

# What makes the image: code of ours, in a module of its own because of what it needs.
IMAGE_TOOL := $(BIN)/image
$(IMAGE_TOOL): hack/tools/image/go.mod $(wildcard hack/tools/image/*.go)
	$(call build-tool,image,.)

$(ETCD): hack/tools/etcd/go.mod
	$(call build-tool,etcd,go.etcd.io/etcd/server/v3)

$(BIN)/kube-apiserver $(BIN)/kube-controller-manager $(KUBECTL): $(BIN)/%: hack/tools/kubernetes/go.mod
	$(call build-tool,kubernetes,k8s.io/kubernetes/cmd/$*,$(KUBE_LDFLAGS))

# What KUBEBUILDER_ASSETS (a folder of downloaded binaries) holds is not built.
CONTROL_PLANE := etcd kube-apiserver kube-controller-manager kubectl
CONTROL_PLANE_BINS = $(foreach b,$(CONTROL_PLANE),\
	$(if $(and $(KUBEBUILDER_ASSETS),$(wildcard $(KUBEBUILDER_ASSETS)/$(b))),,$(BIN)/$(b)))

.PHONY: control-plane
control-plane: $(CONTROL_PLANE_BINS) ## Build etcd, kube-apiserver, kube-controller-manager and kubectl (cold: about 12 minutes)

.PHONY: setup-envtest
setup-envtest: control-plane ## Make the test control plane ready and print its KUBEBUILDER_ASSETS
	@echo $(or $(KUBEBUILDER_ASSETS),$(abspath $(BIN)))

.PHONY: tools
tools: $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(GOLANGCI_LINT) $(KUSTOMIZE) $(CLUSTERCTL) $(JQ) ## Build the development tools

# What test/openstack starts: the packages hold the code and no service, user or question.
.PHONY: openstack-packages
openstack-packages: ## Install the real Keystone and Neutron that tests start (Debian 12; needs root, cold about 2 minutes)
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-keystone python3-neutron >/dev/null

# What test/e2e/map looks at the page of kubectl weir map with.
.PHONY: chromium-packages
chromium-packages: ## Install the browser without a window that tests start (Debian 12; needs root, cold about 1 minute)
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-dejavu-core >/dev/null

# What makes the pages of docs/ a site.
.PHONY: site-packages
site-packages: ## Install Hugo, which makes the site of the docs (Debian 12; needs root, cold less than a minute)
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends hugo >/dev/null

.PHONY: prometheus-packages
prometheus-packages: ## Install the Prometheus and promtool that tests run (Debian 12; needs root, cold about half a minute)
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus >/dev/null

##@ Generate

GO_SOURCES := ./api/... ./cmd/... ./internal/... ./providers/...
# Everything that `generate` writes; verify-gen compares exactly this.
GENERATED := config/crd/bases config/rbac/role.yaml config/webhook/manifests.yaml \
	config/metal3/crd/bases config/metal3/rbac/role.yaml config/incluster/crd/bases config/incluster/rbac/role.yaml \
	docs/reference/api.md docs/reference/metal3.md docs/reference/incluster.md docs/reference/cli.md docs/reference/reasons.md ':(glob)api/**/zz_generated.*.go'

.PHONY: generate
generate: generate-modules generate-go-deepcopy generate-manifests generate-crd-docs generate-reference ## Generate everything

.PHONY: generate-modules
generate-modules: ## Tidy the module
	go mod tidy

.PHONY: generate-go-deepcopy
generate-go-deepcopy: $(CONTROLLER_GEN) ## Generate deep copies of the API types
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: generate-manifests
generate-manifests: $(CONTROLLER_GEN) ## Generate CRDs, RBAC and webhook configurations
	$(CONTROLLER_GEN) crd paths=./api/v1alpha1/... output:crd:artifacts:config=config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=manager-role webhook \
		paths="./internal/...;./providers/weir/..." \
		output:rbac:artifacts:config=config/rbac \
		output:webhook:artifacts:config=config/webhook
	$(CONTROLLER_GEN) crd paths=./api/metal3/... output:crd:artifacts:config=config/metal3/crd/bases
	$(CONTROLLER_GEN) crd paths=./api/incluster/... output:crd:artifacts:config=config/incluster/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=incluster-manager-role paths=./providers/incluster/... \
		output:rbac:artifacts:config=config/incluster/rbac
	$(CONTROLLER_GEN) rbac:roleName=metal3-manager-role paths=./providers/metal3/... \
		output:rbac:artifacts:config=config/metal3/rbac

# $(call crd-docs,package,file) writes the reference of one group: kinds of several groups have the same names, and so the same anchors.
# A placeholder such as <name> in a comment would be an element of HTML, which no reader sees.
crd-docs = $(CRD_REF_DOCS) --log-level=ERROR --source-path=$(1) --config=hack/crd-ref-docs/config.yaml \
	--renderer=markdown --output-path=docs/reference/$(2) && sed -i -E 's/<([A-Za-z]+)>/\&lt;\1\&gt;/g' docs/reference/$(2)

.PHONY: generate-crd-docs
generate-crd-docs: $(CRD_REF_DOCS) ## Generate the API references, docs/reference/{api,metal3,incluster}.md
	@mkdir -p docs/reference
	$(call crd-docs,api/v1alpha1,api.md)
	$(call crd-docs,api/metal3/v1alpha1,metal3.md)
	$(call crd-docs,api/incluster/v1alpha2,incluster.md)

.PHONY: generate-reference
generate-reference: ## Generate the references of reasons and of kubectl weir, docs/reference/{reasons,cli}.md
	go run ./hack/reference
	go run ./hack/clireference >docs/reference/cli.md

.PHONY: web-modules
web-modules:
	@cd web && npm ci --no-audit --no-fund --ignore-scripts --silent

.PHONY: web
web: web-modules ## Bundle the page of kubectl weir map, web/map, into internal/atlas/page (needs node and npm)
	cd web && node build.mjs

##@ Lint and verify

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Lint the code
	CGO_ENABLED=0 $(GOLANGCI_LINT) run

.PHONY: lint-fix
lint-fix: $(GOLANGCI_LINT) ## Lint the code and fix what can be fixed
	CGO_ENABLED=0 $(GOLANGCI_LINT) run --fix

.PHONY: verify
verify: verify-modules verify-boilerplate verify-gen lint verify-cross ## Run all checks that need no running control plane

.PHONY: verify-gen
verify-gen: generate-go-deepcopy generate-manifests generate-crd-docs generate-reference ## Fail if generated files are not up to date
	@git diff --exit-code -- $(GENERATED) || { echo "verify-gen: run 'make generate' and commit (or stage) the result"; exit 1; }
	@untracked=$$(git ls-files --others --exclude-standard -- $(GENERATED)); \
		test -z "$$untracked" || { echo "verify-gen: generated but not added to git:"; echo "$$untracked"; exit 1; }

.PHONY: screenshots
screenshots: ## Draw the pictures of kubectl weir map in docs/images anew (needs what make chromium-packages installs)
	go test -count 1 ./test/e2e/map -run TestPictures -screenshots $(abspath docs/images)

# Where make site writes to.
SITE_DIR ?= $(OUT)/site

.PHONY: site
site: ## Make a site of the pages of docs/ in out/site: open index.html, no server is needed (needs what make site-packages installs)
	@hugo --quiet --noBuildLock --panicOnWarning --cleanDestinationDir --source web/site --destination $(abspath $(SITE_DIR))

.PHONY: verify-web
verify-web: web-modules ## Fail if the page of kubectl weir map is not what its sources make (needs node and npm; part of CI where npm is)
	@rm -rf $(OUT)/web && mkdir -p $(OUT)/web && cd web && node build.mjs ../$(OUT)/web
	@for file in map.js map.css; do cmp $(OUT)/web/$$file internal/atlas/page/$$file || { echo "verify-web: run 'make web' and commit the result"; exit 1; }; done

.PHONY: verify-crd-docs
verify-crd-docs: generate-crd-docs ## Fail if the API reference is not up to date
	@git diff --exit-code -- docs/reference/api.md docs/reference/metal3.md docs/reference/incluster.md

.PHONY: verify-modules
verify-modules: ## Fail if go.mod or go.sum is not tidy
	go mod tidy -diff

.PHONY: verify-boilerplate
verify-boilerplate: ## Fail if a Go file lacks the licence header
	@hack/verify-boilerplate.sh

.PHONY: verify-cross
verify-cross: $(addprefix verify-cross-,$(ARCHS)) ## Compile the manager for every released platform

verify-cross-%:
	CGO_ENABLED=0 GOOS=linux GOARCH=$* go build -trimpath -o $(OUT)/cross/manager-linux-$* .

.PHONY: verify-govulncheck
verify-govulncheck: ## Look for known vulnerabilities (needs the network's vulnerability database, so not part of verify)
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

##@ Build

.PHONY: build
build: manager ## Build the manager

.PHONY: manager
manager: ## Build the manager into bin/
	$(call build,CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/manager .)

.PHONY: plugin
plugin: ## Build kubectl's plugin (kubectl weir), and what completes its arguments, into bin/
	$(call build,CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/kubectl-weir ./cmd/kubectl-weir)
	@install -m 0755 cmd/kubectl-weir/kubectl_complete-weir $(BIN)/kubectl_complete-weir

##@ Test

# $(call cgo,flags) lets a test have C only where the race detector needs it: the other ones are compiled as the manager is, once for both.
cgo = CGO_ENABLED=$(if $(filter -race,$(1) $(GOTESTFLAGS)),1,0)

# $(call gotest,name,flags and packages) runs go test, with GOTESTFLAGS last so that they win, keeps its JSON in out/
# and prints packages, failures and a count. Without debugger's tables a test is linked in half the time, and make lint
# has vetted it.
gotest = go run ./hack/testsummary -costs=$(COSTS) -out $(OUT)/test-$(1).json -- \
	env $(call cgo,$(2)) go test -json -count 1 -ldflags=-w -vet=off $(2) $(GOTESTFLAGS)
# Whether a run of go test prints what it cost. What runs several of them prints that at its end.
COSTS ?= true
# The suites that last come first, so that none of them is left over to run alone.
E2E_FIRST := federation install move processes crash admission weirkinds restore floatingips takeover incluster race
E2E_NEEDS := control-plane $(CLUSTERCTL) $(KUSTOMIZE) $(JQ) manager other-manager plugin release-manifests \
	$(if $(filter long soak,$(WEIR_SUITE_SIZE)),$(CORE_MANAGER))

.PHONY: other-manager
other-manager: ## Build the manager with a second front door, for tests, into bin/
	$(call build,CGO_ENABLED=0 go build -trimpath -o $(BIN)/other-manager ./test/otherdoor/manager)

.PHONY: test
test: ## Run all tests: unit, integration, end to end
	@rm -f $(OUT)/test-*.json
	@trap 'go run ./hack/testsummary $(OUT)/test-*.json' EXIT; \
		$(MAKE) COSTS=false test-unit; \
		$(MAKE) COSTS=false test-integration; \
		$(MAKE) COSTS=false test-e2e; \
		$(MAKE) COSTS=false test-image

# Nothing here starts a goroutine, and the race detector would make it ten times as slow.
PURE = $(addprefix $(shell go list -m)/,internal/allocator internal/pile test/model)

.PHONY: test-unit
test-unit: ## Run the tests that need nothing but Go
	$(call gotest,pure,-timeout 15m $(PURE))
	$(call gotest,unit,$(RACE) -timeout 15m $(filter-out $(PURE),$(shell go list . $(GO_SOURCES) ./hack/... ./test/architecture/... ./test/demo/...)))

# The race detector takes twice the time. At the gate it watches the suites whose ledgers and managers do most at once; from the size long on all
# but those in which nothing does. The suites that last come first.
WATCHED := ./test/integration/claims ./test/integration/ledger ./test/integration/ipclaim ./test/framework/...
SERIAL := ./test/integration/metal3 ./test/integration/admission
INTEGRATION = ./test/integration/claims ./test/integration/openstack ./test/framework/... ./test/propagator/... $(wildcard ./test/integration/*)
RACED = $(if $(filter long soak,$(WEIR_SUITE_SIZE)),$(filter-out $(SERIAL),$(INTEGRATION)),$(WATCHED))

# Both halves may run at once (make -j 2): much of it is waiting, and each has a suite that lasts as long as all others of it.
.PHONY: test-integration test-integration-plain test-integration-race
test-integration: test-integration-plain test-integration-race ## Run the tests against a real API server

test-integration-plain: control-plane
	GOGC=400 $(call gotest,integration,-p 2 -timeout 40m $(filter-out $(RACED),$(INTEGRATION)))

test-integration-race: control-plane
	GOGC=400 $(call gotest,integration-race,$(RACE) -p 2 -timeout 40m $(RACED))

# The suites that need nothing but a control plane, of any version that Weir is for.
ANY_VERSION = $(filter-out ./test/integration/neutron ./test/integration/openstack,$(wildcard ./test/integration/*))

.PHONY: test-kubernetes
test-kubernetes: ## Run the integration tests that any Kubernetes is enough for, on the control plane in KUBEBUILDER_ASSETS
	GOGC=400 $(call gotest,kubernetes,-p 2 -timeout 25m $(ANY_VERSION))

# A real Karmada: the kubeconfigs of its API server and, with commas, of its members.
HUB_KUBECONFIG ?=
MEMBER_KUBECONFIGS ?=

.PHONY: test-karmada
test-karmada: $(KUBECTL) ## Run the specs about what carries pools on a real Karmada (HUB_KUBECONFIG=file MEMBER_KUBECONFIGS=file,file)
	@test -n "$(HUB_KUBECONFIG)" && test -n "$(MEMBER_KUBECONFIGS)" || { echo "test-karmada: set HUB_KUBECONFIG and MEMBER_KUBECONFIGS"; exit 1; }
	@for member in $(abspath $(subst $(comma),$(space),$(MEMBER_KUBECONFIGS))); do \
		WEIR_KARMADA_HUB=$(abspath $(HUB_KUBECONFIG)) WEIR_KARMADA_MEMBER=$$member \
			go test -count 1 -timeout 30m ./test/propagator $(GOTESTFLAGS); \
	done

# Three at a time, too. Their processes live for seconds, on machines with memory to spare: collecting garbage would be a tenth of the work.
.PHONY: test-e2e
test-e2e: $(E2E_NEEDS) ## Run the end-to-end tests: real manager processes, clusterctl, a real control plane
	GOGC=400 $(call gotest,e2e,-p 3 -timeout 30m $(E2E_FIRST:%=./test/e2e/%) ./test/e2e/...)

.PHONY: test-image
test-image: $(KUSTOMIZE) $(CLUSTERCTL) ## Run the tests of the image and the release, which make it twice
	go run ./hack/testsummary -costs=$(COSTS) -out $(OUT)/test-image.json -- go -C hack/tools/image test -json -timeout 25m ./... $(GOTESTFLAGS)

# What test-repeat runs, how often, and the seed of its first run; 0 takes one from the clock. Two suites are no Ginkgo suites: they take no seed.
SUITES ?= $(filter-out %/docsite %/map,$(shell go list ./test/e2e/...))
N ?= 10
SEED ?= 0

.PHONY: test-repeat
test-repeat: $(E2E_NEEDS) ## Run SUITES ("./test/e2e/race ./test/e2e/move") N times, one seed after the other, and list what failed
	GOGC=400 go run ./hack/testsummary -repeat $(N) -seed $(SEED) -out $(OUT)/repeat -- \
		env $(call cgo) go test -json -ldflags=-w -p 3 -count 1 -timeout 30m $(SUITES) $(GOTESTFLAGS)

.PHONY: test-verbose
test-verbose: control-plane ## Run unit and integration tests with full output
	go test -v $(RACE) -timeout 40m . $(GO_SOURCES) ./hack/... ./test/architecture/... ./test/model/... ./test/framework/... ./test/propagator/... ./test/integration/...

.PHONY: test-cover
test-cover: control-plane ## Run unit and integration tests, write out/coverage.html and print the total
	@mkdir -p $(OUT)
	go test -timeout 40m -coverprofile=$(OUT)/coverage.out \
		-coverpkg=$(subst $(space),$(comma),$(GO_SOURCES)) \
		$(GO_SOURCES) ./test/integration/...
	go tool cover -html=$(OUT)/coverage.out -o $(OUT)/coverage.html
	go tool cover -func=$(OUT)/coverage.out | tail -n 1

.PHONY: test-fuzz
test-fuzz: ## Run every fuzz target for FUZZTIME (default 10s) each
	@FUZZTIME=$(FUZZTIME) hack/fuzz.sh

# Only these patches of hack/mutants, by name, with commas; empty: all of them.
export MUTANTS ?=

# Specs that the gate leaves out kill mutants, too.
.PHONY: test-mutants
test-mutants: export WEIR_SUITE_SIZE := long
test-mutants: control-plane $(KUSTOMIZE) ## Break the code with each patch of hack/mutants (or MUTANTS=name,...) and see a test fail (half an hour)
	go run ./hack/mutants

.PHONY: test-long
test-long: ## Run all tests at the size long: every path of the crash suite, both kinds of pool, thousands of claims (an hour)
	$(MAKE) WEIR_SUITE_SIZE=long GOTESTFLAGS="-count 1 -timeout 2h" test

.PHONY: test-soak
test-soak: ## Run all tests at soak size, and each fuzz target for ten minutes (hours)
	$(MAKE) WEIR_SUITE_SIZE=soak GOTESTFLAGS="-count 1 -timeout 12h" test
	$(MAKE) FUZZTIME=10m test-fuzz

.PHONY: bench
bench: control-plane manager release-manifests ## Measure claims per second and writes per claim on a real control plane; AGAINST=FOLDER in turn with an older checkout
	go run ./test/bench $(if $(AGAINST),-against $(AGAINST))
	go test -run '^$$' -bench FirstPicture -benchtime 3x ./test/e2e/map

.PHONY: demo
demo: $(E2E_NEEDS) ## Show Weir at work on a throw-away control plane (KEEP=1 leaves it running, OPENSTACK=1 adds floating IPs, FEDERATION=1 shows a hub and two members instead)
	go run ./test/demo

.PHONY: demo-stop
demo-stop: ## End the demo that KEEP=1 has left running
	@go run ./test/demo stop

##@ Deploy (the cluster is kubectl's current context)

.PHONY: install
install: $(KUSTOMIZE) $(KUBECTL) ## Install the CRDs
	$(KUSTOMIZE) build config/crd | $(KUBECTL) apply --server-side -f -

.PHONY: deploy
deploy: release-manifests $(CLUSTERCTL) $(KUBECTL) ## Install CRDs and manager (needs cert-manager in the cluster and the image in a registry)
	CLUSTERCTL_DISABLE_VERSIONCHECK=true $(CLUSTERCTL) generate yaml --from $(RELEASE_DIR)/ipam-components.yaml | \
		$(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: release-manifests $(KUBECTL) ## Remove manager and CRDs, and with them all pools and claims
	$(KUBECTL) delete --ignore-not-found -f $(RELEASE_DIR)/ipam-components.yaml

##@ Release

# The layout of a clusterctl local repository.
RELEASE_DIR := $(OUT)/ipam-weir/$(VERSION)

.PHONY: release-manifests
release-manifests: $(KUSTOMIZE) ## Write ipam-components.yaml, the sets for Metal3, the in-cluster provider, OpenStack, edges and hubs, weir-monitoring.yaml and metadata.yaml to out/ipam-weir/VERSION
	@KUSTOMIZE=$(KUSTOMIZE) IMAGE=$(IMAGE) VERSION=$(VERSION) hack/release-manifests.sh $(RELEASE_DIR)

.PHONY: release-managers
release-managers: ## Write the manager's binaries, for every released platform, to out/ipam-weir/VERSION
	@mkdir -p $(RELEASE_DIR)
	@for arch in $(ARCHS); do \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -trimpath -buildvcs=false \
			-ldflags "$(LDFLAGS) -X main.revision=$(REVISION)" -o $(RELEASE_DIR)/manager-linux-$$arch . ; \
	done

IMAGE_OF = $(IMAGE_TOOL) -version $(VERSION) -revision $(REVISION) -created $(SOURCE_DATE_EPOCH) $(1) \
	$(foreach arch,$(ARCHS),linux/$(arch)=$(RELEASE_DIR)/manager-linux-$(arch))

.PHONY: image
image: release-managers $(IMAGE_TOOL) ## Write the image, for every released platform, as an OCI archive to out/ipam-weir/VERSION/image.tar; print its digest
	@$(call IMAGE_OF,-output $(RELEASE_DIR)/image.tar)

.PHONY: image-push
image-push: release-managers $(IMAGE_TOOL) ## Push the image, for every released platform, to REGISTRY (needs a login: ~/.docker/config.json)
	@$(call IMAGE_OF,-push $(IMG))

# Which platforms the plugin is released for, and where its binaries are until they are packed.
PLUGINS ?= $(foreach os,linux darwin windows,$(foreach arch,amd64 arm64,$(os)/$(arch)))
PLUGIN_DIR := $(OUT)/release-plugins/$(VERSION)
# $(call plugin-binary,platform) is the path of the plugin's binary for a platform such as linux/amd64.
plugin-binary = $(PLUGIN_DIR)/kubectl-weir_$(subst /,_,$(1))
# The heading of CHANGELOG.md whose text the release's notes are. A tag's workflow names the version.
NOTES ?= Unreleased

.PHONY: release-plugins
release-plugins: ## Write the plugin's binaries, for every released platform, to out/release-plugins/VERSION
	@rm -rf $(PLUGIN_DIR) && mkdir -p $(PLUGIN_DIR)
	@$(foreach platform,$(PLUGINS),CGO_ENABLED=0 GOOS=$(firstword $(subst /, ,$(platform))) GOARCH=$(lastword $(subst /, ,$(platform))) \
		go build -trimpath -buildvcs=false -ldflags "$(LDFLAGS)" -o $(call plugin-binary,$(platform)) ./cmd/kubectl-weir;)

.PHONY: release-sboms
release-sboms: release-managers release-plugins $(IMAGE_TOOL) ## Write the SPDX documents of all released binaries to out/ipam-weir/VERSION
	@$(call IMAGE_OF,-sbom $(RELEASE_DIR))
	@$(IMAGE_TOOL) -version $(VERSION) -created $(SOURCE_DATE_EPOCH) -program kubectl-weir -sbom $(RELEASE_DIR) \
		$(foreach platform,$(PLUGINS),$(platform)=$(call plugin-binary,$(platform)))

.PHONY: release
release: ## Write a whole release to out/ipam-weir/VERSION: manifests, image, binaries, plugin, SPDX documents, notes, checksums (cold: 10 minutes)
	@rm -rf $(RELEASE_DIR)
	@$(MAKE) --no-print-directory release-manifests image release-sboms
	@cp templates/cluster-template-*.yaml LICENSE $(RELEASE_DIR)/
	@go run ./hack/release -version $(VERSION) -created $(SOURCE_DATE_EPOCH) -section $(NOTES) -plugins $(PLUGIN_DIR) $(RELEASE_DIR)
	@cat $(RELEASE_DIR)/SHA256SUMS

##@ Clean

.PHONY: clean
clean: ## Remove test output, release artifacts, the manager and the plugin; the built tools stay
	rm -rf $(OUT) $(BIN)/manager $(BIN)/other-manager $(BIN)/kubectl-weir $(BIN)/kubectl_complete-weir

.PHONY: clean-tools
clean-tools: ## Remove the built tools and control plane too
	rm -rf $(BIN)
