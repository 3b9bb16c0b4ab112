const updates = new EventSource('updates');
updates.onmessage = ({ data }) => {
  document.title = String(data).slice(0, 20);
};
