/** Minimal media in base64: a red pixel, and half a millisecond of silence. */
export const redPixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGO4oKAAAALUARHMX99WAAAAAElFTkSuQmCC';

export const silenceWav =
  'UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA==';
