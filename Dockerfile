# The image of careen, for those who build with a container engine; `make image` makes the same one without.
#   docker build -t careen .
FROM debian:bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends make ca-certificates
WORKDIR /careen
COPY tools/deps tools/
RUN tools/deps build
COPY . .
RUN make build && tools/image --root /image build/careen

FROM scratch
COPY --from=build /image/ /
USER 65532:65532
WORKDIR /
# The name by which the programs that careen replaces are started; /usr/bin/careen has all commands.
ENTRYPOINT ["/manager"]
