# On the host, as root: the driver that the CUDA chart asks for.
sudo add-apt-repository ppa:graphics-drivers/ppa
sudo apt-get update
sudo apt-get install nvidia-418

# In a notebook terminal, for a kernel of one's own.
source activate myenv
python -m ipykernel --name myenv --prefix=$CONDA_DIR --display-name="My environment"
