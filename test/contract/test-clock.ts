export { TestClock } from 'mcp-actors/testing';
