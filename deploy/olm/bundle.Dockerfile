# Made from the chart and the CRD by: make manifests
# The bundle's image: docker build -f deploy/olm/bundle.Dockerfile -t REGISTRY/careen-bundle:VERSION deploy/olm
FROM scratch
LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=careen
LABEL operators.operatorframework.io.bundle.channels.v1=stable
LABEL operators.operatorframework.io.bundle.channel.default.v1=stable
COPY bundle/manifests /manifests/
COPY bundle/metadata /metadata/
