# The workspace server in an image: docker run -i --rm --mount type=bind,src="$PWD",dst=/project,readonly IMAGE
# docs/maintaining/releasing.md says how it is built and published. test/release/packed.test.ts runs its steps without Docker.

FROM node:24-slim AS packed
WORKDIR /src
COPY . .
RUN npm ci
RUN mkdir /app && npm pack --silent --workspace @mcp-actors/cli --pack-destination /app
WORKDIR /app
RUN npm install --no-audit --no-fund --no-package-lock ./mcp-actors-cli-*.tgz && rm ./*.tgz

FROM node:24-slim
COPY --from=packed /app /app
# What is mounted here is served, unless arguments or the client's roots name something else.
WORKDIR /project
ENV MCP_PROJECT_PATH=/project NODE_ENV=production
USER node
# Asks the first process what it waits for: one whose event loop hangs does not answer. It works over stdio and over HTTP.
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["node", "/app/node_modules/@mcp-actors/cli/dist/cli.js", "doctor", "1"]
STOPSIGNAL SIGTERM
# Node itself is the first process, so that it gets the signal: the session ends, and running calls have a second.
ENTRYPOINT ["node", "/app/node_modules/@mcp-actors/cli/dist/cli.js", "workspace"]
