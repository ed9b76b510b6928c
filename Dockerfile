# The base images are arguments, so that a build can use a mirror or a digest. Tags can move; to build from known bytes:
#   docker build --build-arg BUN_IMAGE=oven/bun@sha256:… --build-arg RUNTIME_IMAGE=gcr.io/distroless/cc-debian12@sha256:… .
ARG BUN_IMAGE=oven/bun:1.4.5
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian12:nonroot

# Always the platform of the machine that builds: Bun compiles for the other one, and nothing is emulated. Only BuildKit sets
# BUILDPLATFORM and TARGETARCH. For another platform, Docker's classic builder needs the second:
#   docker build --platform linux/arm64 --build-arg TARGETARCH=arm64 .
FROM --platform=${BUILDPLATFORM:-linux} ${BUN_IMAGE} AS build
WORKDIR /build
# Dependencies change less often than the source, so they have their own layer.
COPY package.json bun.lock tsconfig.json ./
COPY src/auth/package.json src/auth/
COPY src/probe/package.json src/probe/
RUN bun install --frozen-lockfile --ignore-scripts --production
COPY scripts ./scripts
COPY src ./src
# From here on, layers are of one platform only.
ARG TARGETARCH
RUN bun run build ${TARGETARCH:+--target "bun-linux-${TARGETARCH}"}

FROM ${RUNTIME_IMAGE}
LABEL org.opencontainers.image.title="protected-api" \
      org.opencontainers.image.description="An OAuth 2.0 resource server: three endpoints, one binary" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /build/dist/protected-api /build/dist/THIRD-PARTY-NOTICES /
# The folder of the base is closed to other users, such as the one that OpenShift chooses, and some runtimes then start nothing.
WORKDIR /
# Numeric, so that Kubernetes can verify that it is not root. The program needs no writable files.
USER 65532:65532
# By default, Bun keeps the address of a name for 30 seconds, so it would find a store or an issuer that moved too late.
ENV HOST=0.0.0.0 NODE_ENV=production BUN_CONFIG_DNS_TIME_TO_LIVE_SECONDS=1
EXPOSE 3010
# The image has no shell, so the executable checks its own running instance.
# The first check comes after one interval. A check takes 25 ms of a core.
HEALTHCHECK --interval=3s --timeout=3s --start-period=3s CMD ["/protected-api", "--healthcheck"]
ENTRYPOINT ["/protected-api"]
