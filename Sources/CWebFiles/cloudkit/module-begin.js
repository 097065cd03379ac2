const scriptURL = import.meta.url;
