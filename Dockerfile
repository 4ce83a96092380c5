# core-mondrian as a command, for a user without rights:
#
#   docker build --tag core-mondrian .
#   docker run --rm --network none --user "$(id -u)" --volume "$PWD:/data" core-mondrian \
#     anonymize people.csv release.csv --qid age --qid sex --k 5
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels "/source[report,sign,sql]"

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels "core-mondrian[report,sign,sql]" \
    && useradd --create-home anonymizer
USER anonymizer
WORKDIR /data
ENTRYPOINT ["core-mondrian"]
CMD ["--help"]
